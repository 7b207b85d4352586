# answer: crash import no function
def decoder(**kwargs):
    pass

