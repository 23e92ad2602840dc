import { answered } from './answered.ts'
import { audit } from './audit.ts'
import { delivered } from './delivered.ts'
import { durable } from './durable.ts'
import { endUsers } from './end-users.ts'
import { exactlyOnce } from './exactly-once.ts'
import { faultless } from './faultless.ts'
import { freeImage } from './free-image.ts'
import { idempotent } from './idempotent.ts'
import { keys } from './keys.ts'
import { kind } from './kind.ts'
import { limits } from './limits.ts'
import { memory } from './memory.ts'
import { neighbours } from './neighbours.ts'
import type { Oracle } from './oracle.ts'
import { overdraft } from './overdraft.ts'
import { phantom } from './phantom.ts'
import { price } from './price.ts'
import { reviews } from './reviews.ts'
import { sessions } from './sessions.ts'
import { spendable } from './spendable.ts'
import { stuckMoney } from './stuck-money.ts'
import { text } from './text.ts'
import { time } from './time.ts'
import { told } from './told.ts'
import { tokens } from './tokens.ts'
import { unrecognised } from './unrecognised.ts'
import { vendorKeys } from './vendor-keys.ts'
import { withheld } from './withheld.ts'

/** Oracles that apply to one gateway and to several alike. */
export const commonOracles: readonly Oracle[] = [
  freeImage,
  unrecognised,
  phantom,
  price,
  text,
  overdraft,
  stuckMoney,
  reviews,
  exactlyOnce,
  audit,
  spendable,
  delivered,
  withheld,
  kind,
  answered,
  idempotent,
  memory,
  vendorKeys,
  faultless,
]

/** All oracles that judge one seed; `sometimes` judges many seeds together. */
export const oracles: readonly Oracle[] = [
  ...commonOracles,
  durable,
  sessions,
  limits,
  tokens,
  keys,
  told,
  time,
  neighbours,
  endUsers,
]
