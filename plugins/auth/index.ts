export { createSecret, hashSecret, hintOfSecret, readSecret, secretPattern } from './secret.ts'
