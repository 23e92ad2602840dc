import { copyStorage } from '../../src/storage/index.ts'

// A copy that dies half-way: `node copy-child.ts FROM TO STEPS`. It kills itself after this many progress reports.
const [from = '', to = '', steps = ''] = process.argv.slice(2)
let reports = 0
await copyStorage({
  from,
  to,
  onProgress() {
    if (++reports >= Number(steps)) process.kill(process.pid, 'SIGKILL')
  },
})
