import { configuredModels } from '../../domain/index.ts'
import { parseReferences } from '../interpolate.ts'
import { hasSecret, isSecretPlace } from '../secrets.ts'
import { type Path, scalarsOf } from '../tree.ts'
import { hostOf, isLoopback, isPrivate } from './addresses.ts'
import type { Rule } from './rule.ts'

const dayMs = 86_400_000
const cooldownFailuresMax = 100
const secretHeader = /auth|key|token|secret|cookie|passw/i
/** Shorter values are placeholders. */
const secretLettersMin = 8
/** Tokens in the URLs of webhooks have at least 18 characters. */
const pathTokenMin = 16

/** Rules about secrets and the connections to upstreams. */
export const upstreamRules: readonly Rule[] = [
  {
    id: 'literal-secret',
    severity: 'error',
    description: 'Everyone who can read the file or its history has the secret.',
    remedy: 'write "${NAME}" or "${file:/run/secrets/name}", and rotate the secret, because it has been exposed',
    *look({ written }) {
      for (const [{ value }, path] of scalarsOf(written)) {
        const text = String(value ?? '')
        const literal = literalPart(text)
        const found = isSecretHere(path) && letters(literal).length >= secretLettersMin && !isPlainUrl(literal)
        if (found || hasSecret(literal)) yield { path, message: 'the file contains a secret' }
      }
    },
  },
  {
    id: 'credential-in-clear',
    severity: 'error',
    description: 'The credential is sent unencrypted over the network and can be intercepted.',
    remedy: 'use https://',
    *look({ plan }) {
      for (const { name, url, credential, keys = [] } of plan.upstreams.values())
        if (credential.length + keys.length > 0 && isClear(url))
          yield { path: ['upstreams', name, 'url'], message: `the key is sent unencrypted to ${url}` }
      for (const { name, credential: own, keys = [] } of plan.upstreams.values()) {
        // All keys share the literal text of the credential.
        const credential = keys[0]?.upstream.credential ?? own
        for (const [i, one] of credential.entries()) {
          const tokenUrl = one.kind === 'sign' ? (one.options as { readonly token_url?: unknown }).token_url : undefined
          if (typeof tokenUrl !== 'string' || !isClear(tokenUrl)) continue
          const at = credential.length === 1 ? [] : [i]
          const path = ['upstreams', name, 'credential', ...at, 'with', 'token_url']
          yield { path, message: `the secret is sent unencrypted to ${tokenUrl}` }
        }
      }
    },
  },
  {
    id: 'upstream-without-tls',
    severity: 'warning',
    description: 'Requests and responses are sent unencrypted over the network.',
    remedy: 'use https://, or run the upstream on this machine',
    *look({ plan }) {
      for (const { name, url, credential, keys = [] } of plan.upstreams.values())
        if (credential.length + keys.length === 0 && isClear(url))
          yield { path: ['upstreams', name, 'url'], message: `${url} is called without encryption` }
    },
  },
  {
    id: 'credential-missing',
    severity: 'warning',
    description:
      'An upstream outside the private network is called without a credential: it refuses the requests, or is open to everyone.',
    remedy: 'add credential: { header: authorization, value: "Bearer ${NAME}" }',
    *look({ plan }) {
      for (const { name, url, credential, keys = [], headers, query } of plan.upstreams.values()) {
        const host = hostOf(url)
        if (host === undefined || isLoopback(host) || isPrivate(host)) continue
        if (credential.length + keys.length > 0) continue
        if (![...Object.keys(headers), ...Object.keys(query)].some(header => secretHeader.test(header)))
          yield { path: ['upstreams', name], message: `'${name}' has no credential` }
      }
    },
  },
  {
    id: 'cooldown-off',
    severity: 'warning',
    description: 'A failing upstream is called again and again, although the model has another.',
    remedy: 'set cooldown: { failures: 3, for: 10s }',
    *look({ plan }) {
      const shared = configuredModels(plan).filter(model => model.upstreams.length > 1)
      const names = new Set(shared.flatMap(model => model.upstreams.map(one => one.upstream.name)))
      for (const { name, cooldown } of plan.upstreams.values())
        if (names.has(name) && (cooldown.failures > cooldownFailuresMax || cooldown.forMs < 1000))
          yield { path: ['upstreams', name, 'cooldown'], message: `'${name}' is rarely paused after failures` }
    },
  },
  {
    id: 'timeout-endless',
    severity: 'warning',
    description: 'A request that hangs keeps its in-flight slots and its hold for that time.',
    remedy: 'set the longest time that a real response takes, such as 15m',
    *look({ plan }) {
      for (const { name, timeouts } of plan.upstreams.values())
        if (timeouts.totalMs >= dayMs)
          yield { path: ['upstreams', name, 'timeouts', 'total'], message: `a request to '${name}' may take a day` }
    },
  },
  {
    id: 'store-without-tls',
    severity: 'warning',
    description: 'The password and all key hashes are sent unencrypted to the store.',
    remedy: 'use rediss:// or ?sslmode=verify-full, or run the store in a private network',
    *look({ plan }) {
      for (const [key, url] of [
        ['storage', plan.storage],
        ['counters', plan.counters],
      ] as const) {
        const host = hostOf(url)
        const clear = url.startsWith('redis://') || (url.startsWith('postgres') && !/[?&]ssl(?:mode)?=/.test(url))
        if (clear && host !== undefined && !isLoopback(host) && !isPrivate(host))
          yield { path: [key], message: `${host} is outside the private network and is called without encryption` }
      }
    },
  },
]

function isClear(url: string): boolean {
  const host = hostOf(url)
  return url.startsWith('http://') && host !== undefined && !isLoopback(host)
}

/** True for a secret place. Headers and parameters count only by their name, because many contain versions. */
function isSecretHere(path: Path): boolean {
  const [top, , part, name] = path
  if (top === 'upstreams' && (part === 'headers' || part === 'query')) return secretHeader.test(String(name))
  return isSecretPlace(path)
}

/** A URL without secrets: no user, password or query, and no part of the path that is long enough for a token. */
function isPlainUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { username, password, search, hash, pathname } = new URL(text)
  const parts = pathname.split('/')
  return username + password + search + hash === '' && parts.every(part => part.length < pathTokenMin)
}

/** The literal part of a text. Defaults of references are in the file too, so they count. */
function literalPart(text: string): string {
  return parseReferences(text)
    .map(piece => (typeof piece === 'string' ? piece : piece.kind === 'variable' ? (piece.otherwise ?? '') : ''))
    .join('')
}

function letters(text: string): string {
  return text.replace(/^(?:Bearer|Basic|Token)\s+/i, '').trim()
}
