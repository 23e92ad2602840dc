import type { SharedTexts } from '../../../domain/index.ts'
import { type Link, script } from './connect.ts'

const prefix = 'tollgate:answers:'
const read = script(`return redis.call('GET', KEYS[1])`)
const write = script(`return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`)

/** Texts in Redis, under their own prefix. Returns none from a store that does not answer. */
export function textsOf(link: Pick<Link, 'run'>, isAway: () => boolean): SharedTexts {
  return {
    async get(key) {
      if (isAway()) return undefined
      const found = await link.run(read, [prefix + key], []).catch(() => undefined)
      return typeof found === 'string' ? found : undefined
    },
    async put(key, text, ms) {
      if (isAway()) return
      await link.run(write, [prefix + key], [text, Math.max(1, Math.ceil(ms))]).catch(() => undefined)
    },
  }
}
