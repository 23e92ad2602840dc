import { createHook } from 'node:async_hooks'
import { pbkdf2 } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Random } from './random.ts'

/**
 * Operations that a process of the world may start on the machine: `Time` waits for them, or they do not affect the
 * outcome.
 */
const known: ReadonlySet<string> = new Set([
  // Of the process itself: its input and output, its modules.
  'PIPEWRAP',
  'PIPECONNECTWRAP',
  'TTYWRAP',
  'WRITEWRAP',
  'SHUTDOWNWRAP',
  'TickObject',
  'PROMISE',
  'Immediate',
  'Microtask',
  // Files, and compressed data (`watchUnpacking`).
  'FSREQCALLBACK',
  'FSREQPROMISE',
  'FILEHANDLE',
  'FILEHANDLECLOSEREQ',
  'ZLIB',
  // Node's server reads data from connections of the world.
  'HTTPINCOMINGMESSAGE',
  'HTTPCLIENTREQUEST',
  'HTTPServerResponse',
  // Synchronous: randomness that does not come from the world but affects no decision; and objects that always exist.
  'RANDOMBYTESREQUEST',
  'DNSCHANNEL',
  'ELDHISTOGRAM',
  // Keeps the threads busy here.
  'PBKDF2REQUEST',
])
/** Maximum rounds of work for a thread: some ten milliseconds on a machine of 2026. */
const roundsMost = 20_000
/** Maximum time that the process itself gets no CPU, in milliseconds. */
const stallMost = 3
const collectEvery = 200

/**
 * Simulates a process on a busy machine: its threads answer late and at irregular times, it pauses in between, and
 * garbage is collected. The outcome of a seed must be the same; otherwise time advanced during an operation that `Time`
 * did not wait for.
 * @returns the operations on the machine that the world does not wait for, by their names in `node:async_hooks`
 */
export function beSluggish(seed: number): ReadonlySet<string> {
  const random = new Random(seed, 'sluggish')
  const strange = new Set<string>()
  const note = (type: string): void => {
    if (!known.has(type) && !(type === 'Timeout' && isDate())) strange.add(type)
  }
  createHook({ init: (_id, type) => note(type) }).enable()
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const still = new Int32Array(new SharedArrayBuffer(4))
  let turns = 0
  const keepBusy = (): void => {
    if (random.chance(0.3)) Atomics.wait(still, 0, 0, random.unit() * stallMost)
    if (++turns % collectEvery === 0) collect()
    // Most are short, so that work queued after them can finish at any moment. There is only one thread (children.ts).
    pbkdf2('busy', 'with', 1 + Math.floor(random.unit() ** 4 * roundsMost), 8, 'sha1', keepBusy)
  }
  keepBusy()
  keepBusy()
  return strange
}

/** Node's server caches the text of its `Date` header for a second; all texts have the same length. */
function isDate(): boolean {
  return new Error('who?').stack?.includes('utcDate') ?? false
}
