/** Kinds of objects that upstreams store for clients; administrators see them. */
export const storedKinds = [
  'response',
  'conversation',
  'file',
  'upload',
  'batch',
  'message batch',
  'cached content',
  'container',
  'vector store',
  'session handle',
] as const

export type StoredKind = (typeof storedKinds)[number]
