import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { PowerResult } from './power/battery.ts'
import { Random } from './world/random.ts'
import { type Loss, UnsyncedDisk } from './world/unsynced.ts'
import { caseName } from '../harness/case-name.ts'

const script = resolve(import.meta.dirname, 'run.ts')

/** The findings of a battery in a process of its own. */
async function losePower(...args: readonly string[]): Promise<Omit<PowerResult, 'problems'> & { problems: number }> {
  const run = promisify(execFile)(process.execPath, [script, ...args])
  const { stdout } = await run.catch((error: { stdout: string }) => error)
  return JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as Omit<PowerResult, 'problems'> & { problems: number }
}

const everything: Loss = { sectorBytes: 512, kept: 0, isGarbage: false }

t.test('a disk that loses all unsynced data keeps synced data and synced names', async t => {
  const disk = new UnsyncedDisk()
  disk.put('db', Buffer.from('old'))
  disk.apply({ do: 'create', file: 'db-wal' })
  disk.apply({ do: 'write', file: 'db-wal', at: 0, bytes: Buffer.from('one') })
  disk.apply({ do: 'sync', file: 'db-wal' })
  disk.apply({ do: 'write', file: 'db', at: 0, bytes: Buffer.from('new') })
  t.strictSame([...disk.lose(new Random(1, 't'), everything)], [['db', Buffer.from('old')]], 'an unsynced name')
  disk.apply({ do: 'sync names' })
  disk.apply({ do: 'write', file: 'db-wal', at: 3, bytes: Buffer.from('two') })
  const left = disk.lose(new Random(1, 't'), everything)
  t.strictSame(left.get('db-wal'), Buffer.from('one'))
  t.strictSame(disk.whole().get('db-wal'), Buffer.from('onetwo'), 'a process that dies leaves it to the system')
})

t.test('any unsynced sectors may be present, and others not', async t => {
  const seen = new Set<string>()
  for (let seed = 0; seed < 40; seed++) {
    const disk = new UnsyncedDisk()
    disk.put('db', Buffer.alloc(1_536, '-'))
    disk.apply({ do: 'write', file: 'db', at: 0, bytes: Buffer.alloc(1_536, '+') })
    const left =
      disk
        .lose(new Random(seed, 't'), { ...everything, kept: 0.5 })
        .get('db')
        ?.toString() ?? ''
    t.match(left, /^(?:-{512}|\+{512}){3}$/, caseName({ seed }))
    seen.add(left)
  }
  t.equal(seen.size, 8, 'all that three sectors can come to')
})

t.test('no power loss removes an acknowledged charge', async t => {
  const { losses, atStake, problems, during } = await losePower('--power', '60', '--from', '7')
  t.match({ losses, problems }, { losses: 60, problems: 0 })
  t.ok(atStake > 30)
  t.ok(during['write database'], 'some of them in the middle of a checkpoint')
})

t.test('a program that acknowledges before the disk has the data is detected by a power loss', async t => {
  const { problems } = await losePower('--power', '60', '--sabotage', 'told-before-the-disk')
  t.ok(problems > 0)
})
