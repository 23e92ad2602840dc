/** The used fields of a service account's key file. */
export type ServiceAccount = {
  readonly email: string
  /** PKCS #8, PEM. */
  readonly privateKey: string
  readonly keyId: string | undefined
  readonly tokenUri: string
}

/** Parses a key file; if it is invalid, returns a sentence without any of its content. */
export function parseKey(text: string): ServiceAccount | { readonly fault: string } {
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch {
    return { fault: 'it is not JSON' }
  }
  const {
    type,
    client_email: email,
    private_key: privateKey,
    private_key_id: keyId,
    token_uri: uri,
  } = (file ?? {}) as {
    readonly [name: string]: unknown
  }
  if (type !== undefined && type !== 'service_account') return { fault: 'its type is not service_account' }
  if (typeof email !== 'string') return { fault: 'it has no client_email' }
  if (typeof privateKey !== 'string' || !privateKey.includes('-----BEGIN PRIVATE KEY-----'))
    return { fault: 'it has no private_key' }
  return {
    email,
    privateKey,
    keyId: typeof keyId === 'string' ? keyId : undefined,
    tokenUri: typeof uri === 'string' && URL.canParse(uri) ? uri : 'https://oauth2.googleapis.com/token',
  }
}
