import { execFile, execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Why certificates cannot be created here; false when they can. */
export function opensslMissing(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'openssl is not installed'
  }
}

/** Creates a self-signed certificate for localhost, or for other names, and its key. */
export async function makeCertificate(folder: string, name: string, altNames = 'DNS:localhost,IP:127.0.0.1') {
  const [cert, key] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)]
  const words = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '30']
  const names = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${altNames}`]
  await run('openssl', [...words, ...names, '-keyout', key, '-out', cert])
  return { cert, key, ca: await readFile(cert) }
}
