"""One public function for each workflow; ports come in as keyword arguments."""
