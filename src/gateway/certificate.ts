import { X509Certificate } from 'node:crypto'
import { readFileSync, statSync, unwatchFile, watchFile } from 'node:fs'
import { Server } from 'node:https'
import { createSecureContext } from 'node:tls'
import type { Log } from '../plugin-api/index.ts'

type CertificateFiles = { readonly cert: string; readonly key: string }

/**
 * The files are polled instead of watched, because tools that renew certificates replace them one by one through links.
 */
const lookMs = 2_000
/** Older TLS versions are unnecessary and insecure. */
const versionLeast = 'TLSv1.2'

type Pair = { readonly cert: Buffer; readonly key: Buffer; readonly minVersion: 'TLSv1.2' }

/** The certificate of a listener, kept up to date with its files. */
export class Certificate {
  readonly #log: Log
  #files: CertificateFiles
  #server: Server | undefined
  #pair: Pair

  /** @throws Error if the files are unreadable or do not match */
  constructor(files: CertificateFiles, log: Log) {
    this.#files = files
    this.#log = log
    this.#pair = readPair(files)
  }

  get options(): Pair {
    return this.#pair
  }

  /** When it expires, in milliseconds since the epoch. */
  get endsAt(): number {
    return new X509Certificate(this.#pair.cert).validToDate.getTime()
  }

  /** From now on the server uses the certificate in the files. */
  follow(server: Server): void {
    this.#server = server
    this.#look()
  }

  /** Loads the files, or other ones. An error is reported, and the old certificate stays in use. @returns the reason */
  renew(files: CertificateFiles = this.#files): string | undefined {
    if (files.cert !== this.#files.cert || files.key !== this.#files.key) {
      this.close()
      this.#files = files
      this.#look()
    }
    try {
      const pair = readPair(files)
      if (pair.cert.equals(this.#pair.cert) && pair.key.equals(this.#pair.key)) return undefined
      this.#server?.setSecureContext(pair)
      this.#pair = pair
      this.#log.info({ cert: files.cert }, 'a new certificate is in use')
      return undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#log.error({ cert: files.cert, reason }, 'the certificate cannot be used; the old one stays in use')
      return reason
    }
  }

  close(): void {
    for (const file of new Set(Object.values(this.#files))) unwatchFile(file, this.#changed)
  }

  #look(): void {
    for (const file of new Set(Object.values(this.#files)))
      watchFile(file, { interval: lookMs, persistent: false }, this.#changed)
  }

  readonly #changed = (): void => void this.renew()
}

/** @throws Error that names the file, or the mismatch */
function readPair({ cert, key }: CertificateFiles): Pair {
  const pair = { cert: read(cert), key: read(key), minVersion: versionLeast } as const
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new Error(`${cert} and ${key}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
  return pair
}

function read(file: string): Buffer {
  try {
    // Reading a pipe would block the process.
    if (!statSync(file).isFile()) throw new Error('it is not a file')
    return readFileSync(file)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(`${file} cannot be read: ${code ?? message}`, { cause: error })
  }
}
