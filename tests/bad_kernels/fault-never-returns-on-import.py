# answer: crash import time limit
# kind: fault
# time limit: 3
while True:
    pass

