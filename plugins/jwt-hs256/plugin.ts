import { defineSigner, andThen, parseDuration, type Signature, Tokens } from '../../src/plugin-api/index.ts'
import { optionsSchema } from './schema.ts'

/** Tokens are valid from a little before their creation: the other side's clock may be slow. */
const earlierS = 5

/** A self-issued JSON Web Token, signed with a shared secret (HS256), sent as a bearer token. */
export const jwtHs256 = defineSigner({
  name: 'jwt-hs256',
  options: optionsSchema,
  async create({ access_key: issuer, secret_key: secret, lifetime }, { clock }) {
    const { SignJWT } = await import('jose')
    const key = new TextEncoder().encode(secret)
    const lifeS = Math.floor((parseDuration(lifetime) as number) / 1_000)

    const tokens = new Tokens(clock, async () => {
      const now = Math.floor(clock.now() / 1_000)
      const token = await new SignJWT({ iss: issuer, exp: now + lifeS, nbf: now - earlierS })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(key)
      return { token, until: (now + lifeS) * 1_000 }
    })
    const toSignature = (token: string): Signature => ({ headers: { authorization: `Bearer ${token}` } })

    return {
      sign: () => andThen(tokens.token(), toSignature),
      refused: () => tokens.forget(),
    }
  },
})
