import type { Invitation, Newcomer, NewInvitation, Role } from '../../domain/index.ts'
import { actorOfToken } from '../../domain/admin-tokens.ts'
import { aheadMs } from '../../domain/budget.ts'
import { nameAlike } from '../../domain/user-name.ts'
import { firstIdAt } from '../../util/ids.ts'
import { StorageError } from '../errors.ts'
import { ask, type QueryProgram, type Row } from '../query.ts'
import { text, textOrNull, whole } from '../rows.ts'
import type { Scribe } from '../writer-identity.ts'
import { isValidToken } from './admin-tokens.ts'
import { findLinked, insertLink } from './sign-in.ts'
import { appendTrail, type Signed } from './trail.ts'
import { createUser, refuseErased } from './users.ts'
import { refuseUnprintable } from '../refuse-unprintable.ts'

/**
 * The condition for a valid invitation; `paramsOf` has its parameters. Its author must still be able to create users:
 * an administrator, a user of the machine itself, or a token of that role.
 */
const isGood = `expires_at > ? AND created_at <= ? AND (made_by = 'command line' OR EXISTS
  (SELECT 1 FROM "user" a WHERE a.name = made_by AND a.role = 'admin' AND a.status = 'active') OR EXISTS
  (SELECT 1 FROM admin_token WHERE invitation.made_by = '${actorOfToken({ name: '' })}' || name AND role = 'admin'
    AND ${isValidToken}))`
const paramsOf = (at: number): readonly number[] => [at, at + aheadMs, at, at + aheadMs]

function toInvitation(row: Row): Invitation {
  return {
    id: text(row, 'id'),
    name: textOrNull(row, 'name'),
    role: text(row, 'role') as Role,
    group: text(row, 'group_name'),
    by: text(row, 'made_by'),
    createdAt: whole(row, 'created_at'),
    expiresAt: whole(row, 'expires_at'),
  }
}

export function* createInvitation(
  identity: Scribe,
  { invitation, by, at }: Signed & { readonly invitation: NewInvitation },
): QueryProgram<Invitation> {
  const { hash, name, role, group, expiresAt } = invitation
  refuseUnprintable(name, group)
  // Each new invitation deletes expired ones.
  yield ask('DELETE FROM invitation WHERE expires_at <= ?', at)
  if (name !== null) {
    const [taken] = yield ask('SELECT name FROM "user" WHERE name = ?', name)
    if (taken) throw new StorageError('user_exists', { name })
    yield* refuseErased(name)
  }
  const id = identity.ids.next('inv_', at)
  yield ask(
    `INSERT INTO invitation (hash, id, name, role, group_name, made_by, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    hash,
    id,
    name,
    role,
    group,
    by,
    at,
    expiresAt,
  )
  yield* appendTrail(identity, { by, at }, 'invitation.create', id, null, { name, role, group, expiresAt })
  return { id, name, role, group, by, createdAt: at, expiresAt }
}

export function* findInvitation(hash: string, at: number): QueryProgram<Invitation | undefined> {
  const [row] = yield ask(`SELECT * FROM invitation WHERE hash = ? AND ${isGood}`, hash, ...paramsOf(at))
  return row && toInvitation(row)
}

export function* listInvitations(at: number): QueryProgram<readonly Invitation[]> {
  const rows = yield ask(
    `SELECT * FROM invitation WHERE ${isGood} ORDER BY created_at DESC, id DESC LIMIT 1000`,
    ...paramsOf(at),
  )
  return rows.map(toInvitation)
}

export function* revokeInvitation(
  identity: Scribe,
  { id, by, at }: Signed & { readonly id: string },
): QueryProgram<boolean> {
  const [row] = yield ask('DELETE FROM invitation WHERE id = ? RETURNING id', id)
  if (!row) return false
  yield* appendTrail(identity, { by, at }, 'invitation.revoke', id, null, null)
  return true
}

/**
 * Admits a user in one transaction: if the name is taken, the invitation stays unused, and each invitation admits only
 * one person.
 */
export function* admitUser(
  identity: Scribe,
  { newcomer, alike, by, at }: Signed & { readonly newcomer: Newcomer; readonly alike: Alike },
): QueryProgram<'admitted' | 'uninvited' | 'taken'> {
  const { user, identity: who, invitation } = newcomer
  // A person who already has an account does not use up the invitation.
  if (who && (yield* findLinked(who))) return 'taken'
  // Only an invitation or a verified address gives a name with an @.
  let isChosen = !user.name.includes('@')
  if (invitation !== null) {
    const [used] = yield ask(
      `DELETE FROM invitation WHERE hash = ? AND ${isGood} RETURNING id, name`,
      invitation,
      ...paramsOf(at),
    )
    if (!used) return 'uninvited'
    isChosen = used['name'] === null
    yield* appendTrail(identity, { by, at }, 'invitation.use', text(used, 'id'), null, { name: user.name })
  }
  if (isChosen) yield* refuseAlike(user.name, alike)
  yield* createUser(identity, { user, by, at })
  if (who && !(yield* insertLink(who, user.name, at))) throw new StorageError('user_exists', { name: user.name })
  if (who) yield* appendTrail(identity, { by, at }, 'user.link', user.name, null, { issuer: who.issuer })
  return 'admitted'
}

/** Another user with such a name, found among all users; and the time of that search, less a difference of clocks. */
export type Alike = { readonly other: string | null; readonly since: number }

/** Users of one statement. */
const together = 10_000

/** A user whose name people could take for this one. Reads all names, so that no write waits for it. */
export function* findAlike(name: string): QueryProgram<string | null> {
  for (let after = ''; ; ) {
    const users = yield ask('SELECT name FROM "user" WHERE name > ? ORDER BY name LIMIT ?', after, together)
    const names = users.map(row => text(row, 'name'))
    const other = nameAlike(
      name,
      names.filter(one => one !== name),
    )
    const last = names.at(-1)
    if (other !== undefined || last === undefined) return other ?? null
    after = last
  }
}

/**
 * People could take a person who chose such a name for another user, in lists and logs. Checks the users that were
 * created after `findAlike` began to read; the others were checked by it.
 * @throws StorageError `name_alike`
 */
function* refuseAlike(name: string, { other, since }: Alike): QueryProgram<void> {
  const users = yield ask(
    `SELECT subject FROM trail WHERE id >= ? AND action IN ('user.create', 'user.setup') AND subject <> ?`,
    firstIdAt('trail_', since),
    name,
  )
  const found =
    other ??
    nameAlike(
      name,
      users.map(row => text(row, 'subject')),
    )
  if (found !== undefined) throw new StorageError('name_alike', { name: found })
}
