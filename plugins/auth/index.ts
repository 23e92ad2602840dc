export { networkOf } from './address.ts'
export { createSecret, hashSecret, hintOfSecret, readSecret, secretPattern } from './secret.ts'
