import { refuse } from '../reasons.ts'

/** Common passwords of sufficient length, in lower case. */
const common = new Set([
  'password1234',
  'password12345',
  'passwordpassword',
  '123456789012',
  '1234567890123',
  'qwertyuiop12',
  'qwertyuiop123',
  'qwerty123456',
  'administrator',
  'adminadminadmin',
  'letmeinletmein',
  'iloveyou1234',
  'welcome12345',
  'changeme1234',
  'abcdefghijkl',
  'abc123456789',
  '1q2w3e4r5t6y',
  'zaq12wsxcde3',
  'tollgatetollgate',
  'tollgate1234',
])

/** Rejects a password that is easy to guess. The schema checks its length. @throws Failure invalid */
export function checkPassword(password: string, name: string, field = 'password'): void {
  const plain = password.toLowerCase()
  const few = new Set(plain).size < 4
  if (
    few ||
    common.has(plain) ||
    (name.length > 3 && plain.startsWith(name.toLowerCase()) && plain.length < name.length + 6)
  )
    throw refuse('invalid', 'password_common', {}, { param: field })
}
