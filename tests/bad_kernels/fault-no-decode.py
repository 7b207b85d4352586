# answer: crash import no function
# kind: fault
def decoder(**kwargs):
    pass

