import { type Awaitable, andThen } from '../util/awaitable.ts'
import { brand } from '../util/brand.ts'
import type { Clock } from '../util/clock.ts'
import type { Diagnostic } from '../domain/plugin-facts.ts'
import type { Log } from './plugin.ts'
import type { Admits, Schema } from '../util/schema.ts'

/** A request to an upstream that is about to be sent, as a signer sees it. */
export type Unsigned = {
  readonly method: string
  /** Absolute, with its query, under the host that the request will name. */
  readonly url: string
  /** Flat list of lower-case names and values; without host and the headers of the body's length. */
  readonly headers: readonly string[]
  /**
   * Hex SHA-256 of the body's bytes, of none where there is no body.
   * @throws SigningError for a body that is streamed: its digest is not known before it is sent
   */
  readonly digest: () => Awaitable<string>
}

/** What goes with the request; all of it is secret. A header that the request has already is replaced. */
export type Signature = {
  readonly headers?: { readonly [name: string]: string }
  readonly query?: { readonly [name: string]: string }
}

export type Signer = {
  /**
   * Called once for each request, which waits for it; its deadlines run meanwhile. One that does not wait should return
   * a plain value. @throws SigningError with a reason that may be shown
   */
  sign(request: Unsigned): Awaitable<Signature>
  /**
   * The upstream has answered 401 to this signature: a cached token is no longer valid. True if the next signature is another
   * one: the request is sent once more with it before the key is suspended.
   */
  refused?(signature: Signature): boolean | void
}

/** Why there is no signature, in words that callers may read: no secret, and nothing that others said. */
export class SigningError extends Error {
  static {
    brand(this, 'SigningError')
  }
}

/** The answer to a request of a signer's own. */
export type Fetched = {
  readonly status: number
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly body: Buffer
}

/** What a signer is given when it is created. */
export type SignerHost = {
  readonly clock: Clock
  readonly log: Log
  /**
   * Calls the server that mints tokens, over the same network as upstreams: POST, within 10 seconds, at most 64 KiB of answer,
   * no redirects. @throws Failure upstream_*
   */
  readonly post: (
    url: string,
    request: { readonly headers: readonly string[]; readonly body: string },
  ) => Promise<Fetched>
}

/** What makes the signature or the token of an upstream's requests, named by `credential: { sign: NAME, with: … }`. */
export type SignerPlugin<Options extends object = Schema> = {
  readonly name: string
  /** The options under `with`. */
  readonly options: Options
  /** Meaning checks on the options, beyond their schema; paths are inside the options. */
  inspectOptions?(options: Admits<Options>): readonly Diagnostic[]
  /** Once for each credential; what it throws is reported at its line of gateway.yaml. */
  create(options: Admits<Options>, host: SignerHost): Awaitable<Signer>
}

/** A signing plugin whose types have been forgotten. */
export type AnySigner = Omit<SignerPlugin, 'inspectOptions' | 'create'> & {
  inspectOptions?(options: never): readonly Diagnostic[]
  create(options: never, host: SignerHost): Awaitable<Signer>
}

/** Checks a signing plugin's types and returns it as it is. */
export function defineSigner<const Options extends object>(signer: SignerPlugin<Options>): SignerPlugin<Options> {
  return signer
}

/** A token, and until when it is good in milliseconds since the epoch. */
export type Minted = { readonly token: string; readonly until: number }

/** A token is not used for its last minutes: the request takes a while, and clocks differ. */
const marginMs = 120_000
/** Of short lives no more than this share. */
const marginShare = 0.2
/** A token that was just minted is not the reason of a refusal. */
const freshMs = 60_000
/** After a refusal no request is sent for so long: some servers lock out clients that send too many. */
const refusedMs = 1_000

/**
 * Keeps a token until shortly before its end. Requests that need one while it is minted wait for the same one. A failed
 * minting fails for all that wait, and for those of the next second, unless the old token is still valid for a while.
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

  /** @throws what the minting threw */
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
   * What is kept was refused: the next request has a new one made, but for one that is minted a minute ago at most.
   * @param refused the token; the one that is kept when absent. @returns whether the next request has another
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

/** Sends tokens as a bearer's (RFC 6750 2.1). */
export function signAsBearer(tokens: Tokens): Signer {
  const toSignature = (token: string): Signature => ({ headers: { authorization: scheme + token } })
  return {
    sign() {
      return andThen(tokens.token(), toSignature)
    },
    refused: ({ headers }) => tokens.forget(headers?.['authorization']?.slice(scheme.length)),
  }
}
