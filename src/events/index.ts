export { Deliveries } from './deliveries.ts'
