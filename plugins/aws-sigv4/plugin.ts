import { defineSigner, andThen, type Signature, type Unsigned } from '../../src/plugin-api/index.ts'
import { optionsSchema } from './schema.ts'

/** The number of cached keys that were derived for a day, the newest ones. */
const derivedMax = 16

/** AWS Signature Version 4, in headers: over method, path, query, host and the body's hash. */
export const awsSigv4 = defineSigner({
  name: 'aws-sigv4',
  options: optionsSchema,
  async create(
    { access_key: accessKeyId, secret_key: secretAccessKey, session_token: sessionToken, region, service },
    { clock },
  ) {
    const { AwsV4Signer } = await import('aws4fetch')
    const derived = new Map<string, ArrayBuffer>()

    async function sign({ method, url }: Unsigned, digest: string): Promise<Signature> {
      if (derived.size > derivedMax) derived.clear()
      const signer = new AwsV4Signer({
        method,
        url,
        // The host is signed, too. A proxy between the gateway and the service may change other headers.
        headers: { 'x-amz-content-sha256': digest },
        accessKeyId,
        secretAccessKey,
        ...(sessionToken !== undefined && { sessionToken }),
        region,
        service,
        datetime: toStamp(clock.now()),
        cache: derived,
      })
      const { headers } = await signer.sign()
      return { headers: Object.fromEntries(headers) }
    }

    return {
      sign: request => andThen(request.digest(), known => sign(request, known)),
    }
  },
})

/** `20261122T181500Z`. */
function toStamp(now: number): string {
  return new Date(now).toISOString().replaceAll(/[:-]|\.\d{3}/g, '')
}
