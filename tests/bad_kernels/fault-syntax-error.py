# answer: crash import SyntaxError
# kind: fault
def decode(q, kv_cache

