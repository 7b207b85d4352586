# answer: crash import no function
