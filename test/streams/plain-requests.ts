import { DirectRequest } from '../../src/engine/direct-request.ts'

// Loaded before a test file: no request hands its body over, so each goes through the stream that it also is, as in a
// server of somebody else's.
DirectRequest.prototype.handTo = () => false
