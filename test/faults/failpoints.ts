import type { Ledger, Stage } from '../../src/domain/index.ts'
import { definePlugin } from '../../src/plugin-api/index.ts'

// For the pipeline of a process that is to die. Place it before the billing plugin: its onForward runs before that
// plugin's, its onReply and its stage after.

/**
 * The points at which the process kills itself with SIGKILL: nothing is flushed, and no connection is closed properly.
 */
export const points = [
  'before-hold',
  'after-hold',
  'before-dispatch',
  'after-head',
  'before-line-0',
  'after-line-0',
  'before-line-1',
  'after-line-1',
  'before-release-1',
  'after-release-1',
  'before-settle',
  'after-settle',
] as const

export type Point = (typeof points)[number]

export default definePlugin({
  name: 'failpoints',
  options: {
    type: 'object',
    additionalProperties: false,
    required: ['point'],
    properties: { point: { enum: points } },
  },
  create({ point }, { stores }) {
    const die = (at: string): void => {
      if (at === point) process.kill(process.pid, 'SIGKILL')
    }
    let lines = 0
    watchLedger(stores.ledger, die, () => lines++)
    return {
      onForward: (_context, out) => {
        die('before-dispatch')
        return out
      },
      onReply(_context, reply) {
        die('after-head')
        return { ...reply, stages: [...reply.stages, releaseStage(() => lines, die)] }
      },
    }
  },
})

/** The real ledger, with a failpoint before and after each of its commits. */
function watchLedger(ledger: Ledger, die: (at: string) => void, committed: () => void): void {
  const hold = ledger.hold.bind(ledger)
  const line = ledger.line.bind(ledger)
  const settle = ledger.settle.bind(ledger)
  ledger.hold = async request => {
    die('before-hold')
    const held = await hold(request)
    die('after-hold')
    return held
  }
  ledger.line = async (id, one) => {
    die(`before-line-${one.index}`)
    const kept = await line(id, one)
    die(`after-line-${one.index}`)
    committed()
    return kept
  }
  ledger.settle = async settlement => {
    die('before-settle')
    const ended = await settle(settlement)
    die('after-settle')
    return ended
  }
}

/** Paid data passes this stage on its way out. */
function releaseStage(lines: () => number, die: (at: string) => void): Stage {
  return {
    write(chunk) {
      const last = lines() - 1
      die(`before-release-${last}`)
      // The return value of this stage is written in the same turn.
      if (last >= 0) setImmediate(() => die(`after-release-${last}`))
      return chunk
    },
    end: () => [],
  }
}
