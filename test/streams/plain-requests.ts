import { DirectRequest } from '../../src/engine/direct-request.ts'

// Preloaded before a test file: disables direct body access, so that each request is read as a stream, as in a
// third-party server.
DirectRequest.prototype.handTo = () => false
