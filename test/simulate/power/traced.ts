import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Random } from '../world/random.ts'
import type { DiskOp } from '../world/unsynced.ts'
import type { Trace } from './trace.ts'

const script = resolve(import.meta.dirname, 'traced-process.ts')
const calls = 'openat,pwrite64,write,fsync,fdatasync,ftruncate,unlink'

/** Runs a process with real threads on a new database under strace. @throws Error if strace is missing */
export function traceProcess(folder: string, random: Random): Trace {
  const home = mkdtempSync(join(folder, 'traced-'))
  const path = join(home, 'books.db')
  const out = join(folder, 'strace.txt')
  const args = ['-f', '-y', '-xx', '-s', '5000', '-e', `trace=${calls}`, '-o', out]
  const count = String(4 + random.int(12))
  const { error, status, stderr } = spawnSync('strace', [...args, process.execPath, script, path, count], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  if (error) throw new Error('there is no strace here', { cause: error })
  if (status !== 0) throw new Error(`the traced process failed: ${stderr}`)
  const trace = parseTrace(readFileSync(out, 'utf8'), path)
  rmSync(home, { recursive: true })
  return trace
}

/** Parses strace's output about the files of one database. */
function parseTrace(text: string, path: string): Trace {
  const ops: DiskOp[] = []
  const told: { id: string; at: number }[] = []
  const names = new Set<string>()
  for (const call of completeCalls(text)) {
    const op = parseCall(call, path, names)
    if (op) ops.push(op)
    const [, written] = /^write\(1<[^>]*>, "([^"]*)"/.exec(call) ?? []
    const [, id] = /^told (\S+)/.exec(written === undefined ? '' : unescape(written).toString()) ?? []
    if (id !== undefined) told.push({ id, at: ops.length })
  }
  return { ops, told }
}

/** Calls in the order in which they ended; strace prints a call in two parts if another thread called in between. */
function* completeCalls(text: string): Iterable<string> {
  const begun = new Map<string, string>()
  for (const written of text.split('\n')) {
    const [, thread = '', call = ''] = /^(\d+)\s+(.*)$/.exec(written) ?? []
    const [, first] = /^(.*) <unfinished \.\.\.>$/.exec(call) ?? []
    const [, rest] = /^<\.\.\. \w+ resumed>(.*)$/.exec(call) ?? []
    if (first !== undefined) begun.set(thread, first)
    else if (rest !== undefined) yield (begun.get(thread) ?? '') + rest
    else yield call
  }
}

function parseCall(call: string, path: string, names: Set<string>): DiskOp | undefined {
  if (/ = -1 /.test(call)) return undefined
  const [, name = ''] = /^(\w+)\(/.exec(call) ?? []
  if (name === 'openat' || name === 'unlink') return parseName(name, call, path, names)
  const [, shown = ''] = /^\w+\(\d+<([^>]*)>/.exec(call) ?? []
  const target = unescape(shown).toString()
  if (name === 'fsync' || name === 'fdatasync') {
    if (path.startsWith(`${target}/`)) return { do: 'sync names' }
    const file = fileOf(target, path)
    return file === undefined ? undefined : { do: 'sync', file }
  }
  const file = fileOf(target, path)
  if (file === undefined) return undefined
  if (name === 'ftruncate') return { do: 'truncate', file, size: Number(/, (\d+)\)/.exec(call)?.[1]) }
  const [, hex = '', at] = /, "([^"]*)", \d+, (\d+)\)/.exec(call) ?? []
  return at === undefined ? undefined : { do: 'write', file, at: Number(at), bytes: unescape(hex) }
}

function parseName(name: string, call: string, path: string, names: Set<string>): DiskOp | undefined {
  const [, shown = ''] = /"([^"]*)"/.exec(call) ?? []
  const file = fileOf(unescape(shown).toString(), path)
  if (file === undefined) return undefined
  if (name === 'unlink') return names.delete(file) ? { do: 'remove', file } : undefined
  if (!call.includes('O_CREAT') || names.has(file)) return undefined
  names.add(file)
  return { do: 'create', file }
}

/** `db`, `db-wal`, `db-journal`; the log's index and the lock do not matter after a power loss. */
function fileOf(target: string, path: string): string | undefined {
  const rest = target.startsWith(path) ? target.slice(path.length) : undefined
  return rest === '' || rest === '-wal' || rest === '-journal' ? `db${rest}` : undefined
}

function unescape(shown: string): Buffer {
  return Buffer.from(shown.replaceAll('\\x', ''), 'hex')
}
