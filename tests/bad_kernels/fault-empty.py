# answer: crash import no function
# kind: fault
