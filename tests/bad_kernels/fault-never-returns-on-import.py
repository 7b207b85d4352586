# answer: crash import time limit
while True:
    pass

