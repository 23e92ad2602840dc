import { writeSync } from 'node:fs'
import { load, open } from './load.ts'

// A process with real threads, whose calls strace records: `node traced-process.ts DATABASE CHARGES`.

const [path = '', count = ''] = process.argv.slice(2)
const storage = await open(path)
await load(storage, Number(count), id => void writeSync(1, `told ${id}\n`))
await storage.close()
