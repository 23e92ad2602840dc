export { shiftPoint, toDecimal, toPrice } from '../prices/index.ts'
