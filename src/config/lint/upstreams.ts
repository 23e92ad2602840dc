import { parseReferences } from '../interpolate.ts'
import { hasSecret, isSecretPlace } from '../secrets.ts'
import { type Path, scalarsOf } from '../tree.ts'
import { hostOf, isLoopback, isPrivate } from './addresses.ts'
import type { Rule } from './rule.ts'

const dayMs = 86_400_000
const cooldownFailuresMax = 100
const secretHeader = /auth|key|token|secret|cookie|passw/i
/** Shorter ones are placeholders. */
const secretLettersMin = 8

/** Rules about secrets and the connections to upstreams. */
export const upstreamRules: readonly Rule[] = [
  {
    id: 'literal-secret',
    severity: 'error',
    description: 'Whoever reads the file, or its history, has the secret.',
    remedy: 'write "${NAME}" or "${file:/run/secrets/name}", and change the secret: it has been written down',
    *look({ written }) {
      for (const [{ value }, path] of scalarsOf(written)) {
        const text = String(value ?? '')
        const literal = isSecretHere(path) && letters(literalPart(text)).length >= secretLettersMin
        if (literal || hasSecret(literalPart(text))) yield { path, message: 'a secret stands in the file itself' }
      }
    },
  },
  {
    id: 'credential-in-clear',
    severity: 'error',
    description: 'The credential goes over the network unencrypted: anybody on the way can use it.',
    remedy: 'write https://',
    *look({ plan }) {
      for (const { name, url, credential, keys = [] } of plan.upstreams.values())
        if (credential.length + keys.length > 0 && isClear(url))
          yield { path: ['upstreams', name, 'url'], message: `${url} gets our key unencrypted` }
      for (const { name, credential: own, keys = [] } of plan.upstreams.values()) {
        // Keys share what is written of the credential.
        const credential = keys[0]?.upstream.credential ?? own
        for (const [i, one] of credential.entries()) {
          const asked = one.kind === 'sign' ? (one.options as { readonly token_url?: unknown }).token_url : undefined
          if (typeof asked !== 'string' || !isClear(asked)) continue
          const at = credential.length === 1 ? [] : [i]
          const path = ['upstreams', name, 'credential', ...at, 'with', 'token_url']
          yield { path, message: `${asked} gets our secret unencrypted` }
        }
      }
    },
  },
  {
    id: 'upstream-without-tls',
    severity: 'warning',
    description: 'What callers ask and get goes over the network unencrypted.',
    remedy: 'write https://, or keep the upstream on this machine',
    *look({ plan }) {
      for (const { name, url, credential, keys = [] } of plan.upstreams.values())
        if (credential.length + keys.length === 0 && isClear(url))
          yield { path: ['upstreams', name, 'url'], message: `${url} is asked unencrypted` }
    },
  },
  {
    id: 'credential-missing',
    severity: 'warning',
    description:
      'An upstream beyond the own network that is sent no credential: either it refuses, or it is open to all.',
    remedy: 'add credential: { header: authorization, value: "Bearer ${NAME}" }',
    *look({ plan }) {
      for (const { name, url, credential, keys = [], headers, query } of plan.upstreams.values()) {
        const host = hostOf(url)
        if (host === undefined || isLoopback(host) || isPrivate(host)) continue
        if (credential.length + keys.length > 0) continue
        if (![...Object.keys(headers), ...Object.keys(query)].some(header => secretHeader.test(header)))
          yield { path: ['upstreams', name], message: `'${name}' is sent no credential` }
      }
    },
  },
  {
    id: 'cooldown-off',
    severity: 'warning',
    description: 'An upstream that fails is asked again and again, though the model has another.',
    remedy: 'write cooldown: { failures: 3, for: 10s }',
    *look({ plan }) {
      const shared = [...plan.models.values()].filter(model => model.upstreams.length > 1)
      const asked = new Set(shared.flatMap(model => model.upstreams.map(one => one.upstream.name)))
      for (const { name, cooldown } of plan.upstreams.values())
        if (asked.has(name) && (cooldown.failures > cooldownFailuresMax || cooldown.forMs < 1000))
          yield { path: ['upstreams', name, 'cooldown'], message: `'${name}' is hardly ever paused after failures` }
    },
  },
  {
    id: 'timeout-endless',
    severity: 'warning',
    description: 'A request that hangs keeps its places and its hold for as long.',
    remedy: 'write the longest time that a real answer takes, such as 15m',
    *look({ plan }) {
      for (const { name, timeouts } of plan.upstreams.values())
        if (timeouts.totalMs >= dayMs)
          yield { path: ['upstreams', name, 'timeouts', 'total'], message: `an exchange with '${name}' may take a day` }
    },
  },
  {
    id: 'store-without-tls',
    severity: 'warning',
    description: 'The password and every key hash go to the store unencrypted.',
    remedy: 'write rediss:// or ?sslmode=verify-full, or keep the store in a network of its own',
    *look({ plan }) {
      for (const [key, url] of [
        ['storage', plan.storage],
        ['counters', plan.counters],
      ] as const) {
        const host = hostOf(url)
        const clear = url.startsWith('redis://') || (url.startsWith('postgres') && !/[?&]ssl(?:mode)?=/.test(url))
        if (clear && host !== undefined && !isLoopback(host) && !isPrivate(host))
          yield { path: [key], message: `${host} is beyond the own network, and asked unencrypted` }
      }
    },
  },
]

function isClear(url: string): boolean {
  const host = hostOf(url)
  return url.startsWith('http://') && host !== undefined && !isLoopback(host)
}

/** A secret place, of headers and parameters only those whose name says so: many carry a version. */
function isSecretHere(path: Path): boolean {
  const [top, , part, name] = path
  if (top === 'upstreams' && (part === 'headers' || part === 'query')) return secretHeader.test(String(name))
  return isSecretPlace(path)
}

/** What of a text is not taken from elsewhere: defaults of references are in the file too. */
function literalPart(text: string): string {
  return parseReferences(text)
    .map(piece => (typeof piece === 'string' ? piece : piece.kind === 'variable' ? (piece.otherwise ?? '') : ''))
    .join('')
}

function letters(text: string): string {
  return text.replace(/^(?:Bearer|Basic|Token)\s+/i, '').trim()
}
