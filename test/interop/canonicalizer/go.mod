module toolspan.test/canonicalizer

go 1.22.0

require github.com/cyberphone/json-canonicalization v0.0.0-20241213102144-19d51d7fe467
