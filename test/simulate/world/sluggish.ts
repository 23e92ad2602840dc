import { createHook } from 'node:async_hooks'
import { pbkdf2 } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Random } from './random.ts'

/** What a process of the world may begin at the machine: `Time` stands still for it, or it decides nothing. */
const known: ReadonlySet<string> = new Set([
  // Of the process itself: what it reads and writes, its modules.
  'PIPEWRAP',
  'PIPECONNECTWRAP',
  'TTYWRAP',
  'WRITEWRAP',
  'SHUTDOWNWRAP',
  'TickObject',
  'PROMISE',
  'Immediate',
  'Microtask',
  // Files, and what was packed (`watchUnpacking`).
  'FSREQCALLBACK',
  'FSREQPROMISE',
  'FILEHANDLE',
  'FILEHANDLECLOSEREQ',
  'ZLIB',
  // Node's server reads what comes over connections of the world.
  'HTTPINCOMINGMESSAGE',
  'HTTPCLIENTREQUEST',
  'HTTPServerResponse',
  // Begun and over at once: chance that the world does not hand in, which ends up in no decision; and what is there unasked.
  'RANDOMBYTESREQUEST',
  'DNSCHANNEL',
  'ELDHISTOGRAM',
  // What keeps the threads busy here.
  'PBKDF2REQUEST',
])
/** Rounds of work for a thread, at most: some ten milliseconds on a machine of 2026. */
const roundsMost = 20_000
/** For so long the process itself gets no processor, in milliseconds, at most. */
const stallMost = 3
const collectEvery = 200

/**
 * Makes this process one of a machine that is busy with much else: its threads answer late and at odd times, it stands still
 * in between, and what nobody holds any more is collected. What a seed decides has to be the same; where it is not, time went on
 * while something was under way that nobody waited for (`Time`).
 * @returns what was begun at the machine that nobody is known to wait for, by the names of `node:async_hooks`
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
    // Most are short, so that what waits behind them is through at any moment. One thread is all there is (children.ts).
    pbkdf2('busy', 'with', 1 + Math.floor(random.unit() ** 4 * roundsMost), 8, 'sha1', keepBusy)
  }
  keepBusy()
  keepBusy()
  return strange
}

/** Node's server keeps the text of its `Date` header for a second; all texts are of one length. */
function isDate(): boolean {
  return new Error('who?').stack?.includes('utcDate') ?? false
}
