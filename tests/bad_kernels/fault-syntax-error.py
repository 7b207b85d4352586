# answer: crash import SyntaxError
def decode(q, kv_cache

