"""What runs beside the untrusted kernel, in its own process. The host starts it and never imports it."""
