import { type Awaitable, andThen } from '../util/awaitable.ts'
import { brand } from '../util/brand.ts'
import type { Clock } from '../util/clock.ts'
import type { Diagnostic } from '../domain/plugin-facts.ts'
import type { Log } from './plugin.ts'
import type { Admits, Schema } from '../util/schema.ts'

/** A request to an upstream before it is sent, for a signer. */
export type Unsigned = {
  readonly method: string
  /** The absolute URL with its query and the host of the request. */
  readonly url: string
  /** A flat list of lower-case names and values, without the host and the headers about the body's length. */
  readonly headers: readonly string[]
  /**
   * Hex SHA-256 of the body's bytes; of no bytes if there is no body.
   * @throws SigningError for a streamed body, whose digest is unknown before it is sent
   */
  readonly digest: () => Awaitable<string>
}

/**
 * Headers and query parameters to add to the request; all of them are secret. They replace headers of the request with
 * the same name.
 */
export type Signature = {
  readonly headers?: { readonly [name: string]: string }
  readonly query?: { readonly [name: string]: string }
}

export type Signer = {
  /**
   * Called once for each request, which waits for it while its timeouts run. A signer that does not wait should return
   * a plain value. @throws SigningError with a reason that may be shown
   */
  sign(request: Unsigned): Awaitable<Signature>
  /**
   * Called after the upstream has answered 401 to this signature, so a cached token is no longer valid. Returns true if
   * the next signature differs. The request is then sent once more before the key is suspended.
   */
  refused?(signature: Signature): boolean | void
}

/** The reason why there is no signature, in words for clients: without secrets, and without text from other servers. */
export class SigningError extends Error {
  static {
    brand(this, 'SigningError')
  }
}

/** The response to a signer's own request. */
export type Fetched = {
  readonly status: number
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly body: Buffer
}

/** The parts of the gateway for a signer, at its creation. */
export type SignerHost = {
  readonly clock: Clock
  readonly log: Log
  /**
   * Sends a POST request to the token server, through the same network as requests to upstreams: within 10 seconds,
   * with at most 64 KiB of response, without redirects. @throws Failure upstream_*
   */
  readonly post: (
    url: string,
    request: { readonly headers: readonly string[]; readonly body: string },
  ) => Promise<Fetched>
}

/** Creates the signatures or tokens for an upstream's requests. Configured by `credential: { sign: NAME, with: … }`. */
export type SignerPlugin<Options extends object = Schema> = {
  readonly name: string
  /** The options under `with`. */
  readonly options: Options
  /** Validates the options beyond their schema. Paths are relative to the options. */
  inspectOptions?(options: Admits<Options>): readonly Diagnostic[]
  /** Called once for each credential. Its errors are reported at the credential's line of gateway.yaml. */
  create(options: Admits<Options>, host: SignerHost): Awaitable<Signer>
}

/** A signing plugin with erased types. */
export type AnySigner = Omit<SignerPlugin, 'inspectOptions' | 'create'> & {
  inspectOptions?(options: never): readonly Diagnostic[]
  create(options: never, host: SignerHost): Awaitable<Signer>
}

/** Checks the types of a signing plugin and returns it unchanged. */
export function defineSigner<const Options extends object>(signer: SignerPlugin<Options>): SignerPlugin<Options> {
  return signer
}

/** A token and the end of its validity, in milliseconds since the epoch. */
export type Minted = { readonly token: string; readonly until: number }

/** The last part of a token's lifetime in which it is not used, because the request takes time, and clocks differ. */
const marginMs = 120_000
/** The maximum share of the lifetime for that, for short-lived tokens. */
const marginShare = 0.2
/** A token younger than this is not the cause of a refusal. */
const freshMs = 60_000
/** The time without requests after a refusal, because some servers lock out clients that send too many. */
const refusedMs = 1_000

/**
 * Caches a token until shortly before it expires. Concurrent requests wait for one request for a new token. If that
 * fails, it fails for all waiting requests and those of the next second, unless the old token is still valid for a
 * while.
 */
export class Tokens {
  readonly #clock: Pick<Clock, 'now'>
  readonly #mint: () => Promise<Minted>
  #kept: Minted | undefined
  #mintedAt = 0
  #minting: Promise<string> | undefined
  #failure: { readonly error: unknown; readonly until: number } | undefined

  constructor(clock: Pick<Clock, 'now'>, mint: () => Promise<Minted>) {
    this.#clock = clock
    this.#mint = mint
  }

  /** @throws the error of the token request */
  token(): Awaitable<string> {
    const now = this.#clock.now()
    const kept = this.#kept
    if (kept && now < kept.until - this.#margin(kept)) return kept.token
    if (this.#failure && now < this.#failure.until) {
      if (kept && now < kept.until) return kept.token
      throw this.#failure.error
    }
    this.#minting ??= this.#renew().finally(() => {
      this.#minting = undefined
    })
    return this.#minting
  }

  /**
   * Called after the upstream has refused the cached token: the next request gets a new one, unless the token is less
   * than a minute old.
   * @param refused the token; by default the cached one. @returns whether the next request gets another token
   */
  forget(refused?: string): boolean {
    if (refused !== undefined && this.#kept?.token !== refused) return true
    if (this.#clock.now() - this.#mintedAt < freshMs) return false
    this.#kept = undefined
    return true
  }

  #margin({ until }: Minted): number {
    return Math.min(marginMs, (until - this.#mintedAt) * marginShare)
  }

  async #renew(): Promise<string> {
    try {
      const minted = await this.#mint()
      this.#mintedAt = this.#clock.now()
      this.#kept = minted
      this.#failure = undefined
      return minted.token
    } catch (error) {
      this.#failure = { error, until: this.#clock.now() + refusedMs }
      if (this.#kept && this.#clock.now() < this.#kept.until) return this.#kept.token
      throw error
    }
  }
}

const scheme = 'Bearer '

/** Sends a token as a bearer token (RFC 6750 2.1). */
export function signAsBearer(tokens: Tokens): Signer {
  const toSignature = (token: string): Signature => ({ headers: { authorization: scheme + token } })
  return {
    sign() {
      return andThen(tokens.token(), toSignature)
    },
    refused: ({ headers }) => tokens.forget(headers?.['authorization']?.slice(scheme.length)),
  }
}
