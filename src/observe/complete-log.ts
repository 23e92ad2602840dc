import type { Log } from '../plugin-api/index.ts'
import { clip, type GatewayLog, requestFacts } from './log.ts'
import { escapeUnruly, Scrubber } from './scrub.ts'

/**
 * Completes an embedder's log, for which four methods are enough. Removes secrets and cuts long strings before it
 * passes a line on. A finished request becomes a line `request` at `info`. All facts are plain data, including errors.
 */
export function completeLog(log: Log | GatewayLog): GatewayLog {
  if (isComplete(log)) return log
  const scrubber = new Scrubber()
  const clean = (text: string): string => escapeUnruly(scrubber.scrub(text))
  const plain = (facts: object): object =>
    JSON.parse(JSON.stringify(clip(facts, scrubber, 0), textOfLarge), (_name, value: unknown) =>
      typeof value === 'string' ? clean(value) : value,
    ) as object
  return {
    debug: (facts, text) => log.debug(plain(facts), clean(text)),
    info: (facts, text) => log.info(plain(facts), clean(text)),
    warn: (facts, text) => log.warn(plain(facts), clean(text)),
    error: (facts, text) => log.error(plain(facts), clean(text)),
    request: row => log.info(plain(requestFacts(row, scrubber)), 'request'),
    hide: secrets => scrubber.hide(secrets),
    // The embedder's log decides when it writes.
    flush: () => Promise.resolve(),
  }
}

function isComplete(log: Log | GatewayLog): log is GatewayLog {
  return 'request' in log && 'hide' in log && 'flush' in log
}

/** JSON cannot represent a bigint, so it becomes a text. */
function textOfLarge(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}
