export { auth } from './plugin.ts'
export { createSecret, hashSecret, hintOfSecret, readSecret, secretPattern } from './secret.ts'
