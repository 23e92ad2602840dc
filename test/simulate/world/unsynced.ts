import type { Random } from './random.ts'

/** A program's operations on a disk, in order. Files are named within one folder. */
export type DiskOp =
  | { readonly do: 'create'; readonly file: string }
  | { readonly do: 'remove'; readonly file: string }
  | { readonly do: 'sync'; readonly file: string }
  | { readonly do: 'write'; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly do: 'truncate'; readonly file: string; readonly size: number }
  /** A complete file, synced and named, or nothing. */
  | { readonly do: 'put'; readonly file: string; readonly bytes: Buffer }
  /** Syncs the names in the folder. */
  | { readonly do: 'sync names' }

type Pending = Extract<DiskOp, { do: 'write' | 'truncate' }>

/** The content of a file, independent of its name. */
type Inode = { synced: Buffer; pending: Pending[] }

/** How the disk loses data. */
export type Loss = {
  /** The unit that is written completely or not at all. */
  readonly sectorBytes: number
  /** Share of the unsynced sectors that survive anyway. */
  readonly kept: number
  /** The content of an extended file where nothing was written: garbage from earlier data, or zeros. */
  readonly isGarbage: boolean
}

/** Draws how a disk loses data: sometimes everything that was not synced, or nothing. */
export function drawLoss(random: Random): Loss {
  return {
    sectorBytes: random.pick([512, 512, 4096]),
    kept: random.pick([0, 0.1, 0.5, 0.9, 1]),
    isGarbage: random.chance(0.5),
  }
}

/**
 * A folder on a disk that keeps synced data, and any part of the rest: any sectors of any write in any order, a file's
 * length without its content, a name or its absence.
 */
export class UnsyncedDisk {
  /** Final names, and the later operations on each, in order. */
  readonly #names = new Map<string, Inode>()
  readonly #renamed = new Map<string, (Inode | undefined)[]>()

  apply(op: DiskOp): void {
    if (op.do === 'sync names') return this.#syncNames()
    if (op.do === 'put') return this.put(op.file, op.bytes)
    if (op.do === 'create') return this.#rename(op.file, { synced: Buffer.alloc(0), pending: [] })
    if (op.do === 'remove') return this.#rename(op.file, undefined)
    const inode = this.#find(op.file)
    if (!inode) throw new Error(`there is no file '${op.file}' to ${op.do}`)
    if (op.do !== 'sync') return void inode.pending.push(op)
    inode.synced = perform(inode)
    inode.pending = []
  }

  /** Adds a file that is final on the disk. */
  put(file: string, bytes: Buffer): void {
    this.#names.set(file, { synced: bytes, pending: [] })
  }

  has(file: string): boolean {
    return this.#find(file) !== undefined
  }

  /** The amount of data that may be lost. */
  get open(): number {
    const inodes = new Set([...this.#names.values(), ...[...this.#renamed.values()].flat()])
    return [...inodes].reduce((sum, inode) => sum + (inode?.pending.length ?? 0), this.#renamed.size)
  }

  /** The state after a process has crashed: the system still has all of it. */
  whole(): ReadonlyMap<string, Buffer> {
    const files = new Map<string, Buffer>()
    for (const name of this.#allNames()) {
      const inode = this.#find(name)
      if (inode) files.set(name, perform(inode))
    }
    return files
  }

  /** The state after a power loss. */
  lose(random: Random, loss: Loss): ReadonlyMap<string, Buffer> {
    const files = new Map<string, Buffer>()
    for (const name of this.#allNames()) {
      const changes = [this.#names.get(name), ...(this.#renamed.get(name) ?? [])]
      // For one name the disk keeps the order.
      const inode = changes[loss.kept === 0 ? 0 : loss.kept === 1 ? changes.length - 1 : random.int(changes.length)]
      if (inode) files.set(name, forget(inode, random, loss))
    }
    return files
  }

  #allNames(): readonly string[] {
    return [...new Set([...this.#names.keys(), ...this.#renamed.keys()])].sort()
  }

  #find(file: string): Inode | undefined {
    const renamed = this.#renamed.get(file)
    return renamed ? renamed.at(-1) : this.#names.get(file)
  }

  #rename(file: string, inode: Inode | undefined): void {
    const renamed = this.#renamed.get(file)
    if (renamed) renamed.push(inode)
    else this.#renamed.set(file, [inode])
  }

  #syncNames(): void {
    for (const [name, changes] of this.#renamed) {
      const last = changes.at(-1)
      if (last) this.#names.set(name, last)
      else this.#names.delete(name)
    }
    this.#renamed.clear()
  }
}

/** A file with all of its operations applied. */
function perform({ synced, pending }: Inode): Buffer {
  if (pending.length === 0) return synced
  // Allocates the maximum size at once: a log grows by thousands of frames.
  const most = Math.max(synced.length, ...pending.map(op => (op.do === 'truncate' ? op.size : op.at + op.bytes.length)))
  const bytes = Buffer.alloc(most)
  let size = synced.copy(bytes)
  for (const op of pending) {
    if (op.do === 'truncate') {
      bytes.fill(0, op.size, size)
      size = op.size
      continue
    }
    size = Math.max(size, op.at + op.bytes.copy(bytes, op.at))
  }
  return bytes.subarray(0, size)
}

function resize(bytes: Buffer, size: number): Buffer {
  if (size === bytes.length) return bytes
  const resized = Buffer.alloc(size)
  bytes.copy(resized)
  return resized
}

/** A file with a random part of its unsynced sectors. */
function forget({ synced, pending }: Inode, random: Random, { sectorBytes, kept, isGarbage }: Loss): Buffer {
  let bytes: Buffer = Buffer.from(synced)
  let longest = bytes.length
  for (const op of pending) {
    if (op.do === 'truncate') {
      if (random.chance(kept)) bytes = resize(bytes, op.size)
      continue
    }
    const end = op.at + op.bytes.length
    longest = Math.max(longest, end)
    for (let at = op.at; at < end; ) {
      const next = Math.min(end, (Math.floor(at / sectorBytes) + 1) * sectorBytes)
      if (random.chance(kept)) {
        bytes = lengthen(bytes, next, random, isGarbage)
        op.bytes.copy(bytes, at, at - op.at, next - op.at)
      }
      at = next
    }
  }
  // The length was recorded, but not the content.
  return longest > bytes.length && random.chance(kept) ? lengthen(bytes, longest, random, isGarbage) : bytes
}

function lengthen(bytes: Buffer, size: number, random: Random, isGarbage: boolean): Buffer {
  if (size <= bytes.length) return bytes
  return Buffer.concat([bytes, isGarbage ? random.bytes(size - bytes.length) : Buffer.alloc(size - bytes.length)])
}
