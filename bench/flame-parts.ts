// The content of a V8 CPU profile, by part of the program and as a tree of frames. Pure functions, so that tests can
// use them.

type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number }

/** A profile in the format of the inspector protocol. */
export type Profile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  /** Microseconds between each sample and the one before. */
  readonly timeDeltas: readonly number[]
}

/** A function at a position of the stack, with its time in microseconds: its own, and including its callees. */
export type Frame = {
  readonly name: string
  readonly part: string
  readonly own: number
  readonly all: number
  readonly children: readonly Frame[]
}

/** Frames that are not of the program: idle time. */
const idle = '(idle)'

/** The tree of a profile, without idle time. Frames with the same name and position are merged. */
export function treeOf({ nodes, samples, timeDeltas }: Profile): Frame {
  const own = new Map<number, number>()
  for (const [i, id] of samples.entries()) own.set(id, (own.get(id) ?? 0) + (timeDeltas[i] ?? 0))
  const byId = new Map(nodes.map(node => [node.id, node]))
  const [root] = nodes
  if (!root) throw new Error('a profile without a frame')
  const merged = (ids: readonly number[], caller: string): readonly Frame[] => {
    const groups = Map.groupBy(ids, id => nameOf((byId.get(id) as typeof root).callFrame))
    return [...groups].flatMap(([name, same]) => {
      if (name === idle) return []
      const part = partOf((byId.get(same[0] as number) as typeof root).callFrame, caller)
      const children = merged(
        same.flatMap(id => byId.get(id)?.children ?? []),
        part,
      )
      const self = sum(same.map(id => own.get(id) ?? 0))
      return { name, part, own: self, all: self + sum(children.map(child => child.all)), children }
    })
  }
  const children = merged(root.children ?? [], 'none')
  return { name: 'main thread', part: 'none', own: 0, all: sum(children.map(child => child.all)), children }
}

/** Time of each part in microseconds, the largest first. */
export function timeByPart(root: Frame): readonly (readonly [part: string, micros: number])[] {
  const parts = new Map<string, number>()
  const add = (frame: Frame): void => {
    if (frame.own > 0) parts.set(frame.part, (parts.get(frame.part) ?? 0) + frame.own)
    frame.children.forEach(add)
  }
  add(root)
  return [...parts].toSorted(([, a], [, b]) => b - a)
}

function nameOf({ functionName, url, lineNumber }: CallFrame): string {
  const file = url === '' ? '' : ` ${url.replace(/^.*\/(?=(?:src|plugins|node_modules)\/)/, '')}:${lineNumber + 1}`
  return `${functionName || '(anonymous)'}${file}`
}

/**
 * The part of a function: a plugin, a folder of `src`, a package, a module of Node. Functions that V8 runs without a
 * file (`JSON.parse`, a write to a socket) belongs to its caller.
 */
export function partOf({ functionName, url }: CallFrame, caller: string): string {
  if (functionName === '(garbage collector)') return 'garbage collection'
  if (functionName === '(program)') return 'outside of JavaScript (kernel, libuv, V8)'
  const found =
    /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ??
    /\/(plugins\/[^/]+)\//.exec(url)?.[1] ??
    /\/(src\/[^/]+)\//.exec(url)?.[1]
  if (found !== undefined) return found
  if (url.startsWith('node:')) return nodeParts.find(([, its]) => its.test(url))?.[0] ?? 'Node: other'
  return url === '' ? caller : 'other'
}

const nodeParts: readonly (readonly [part: string, its: RegExp])[] = [
  ['Node: HTTP', /http/],
  ['Node: sockets, streams, events', /stream|net$|events|stream_base/],
  ['Node: ticks, promises, timers', /task_queues|promises|timers|async_hooks/],
  ['Node: buffers and encodings', /buffer|encoding/],
]

function sum(all: readonly number[]): number {
  return all.reduce((so, one) => so + one, 0)
}
