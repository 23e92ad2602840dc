import { type SeenSession, showSession } from '../../index.ts'
import { Exit, exitCodes, print, say } from '../exit.ts'
import { actor, withStorage } from '../with-storage.ts'
import { formatTable } from '../table.ts'

type Listing = { readonly config: string; readonly format: string; readonly limit: number; readonly key?: string }

/** Open WebSocket sessions of all gateways on the storage, newest first. */
export async function listSessions({ config, format, limit, key: keyId }: Listing): Promise<void> {
  await withStorage(config, async storage => {
    const found = await storage.liveSessions.list({ limit, ...(keyId && { keyId }) })
    if (found.length === 0) say('No sessions are open.')
    else if (format === 'json') for (const one of found) print(JSON.stringify(showSession(one)))
    else print(formatSessions(found))
  })
}

/** Requests the end of a session: its gateway ends it within a second. */
export async function endSession(
  id: string,
  { config, reason }: { readonly config: string; readonly reason?: string },
): Promise<void> {
  await withStorage(config, async storage => {
    if (!(await storage.liveSessions.end(id, actor, reason ?? null)))
      throw new Exit(exitCodes.failure, `no session '${id}' is open (tollgate sessions list)`)
    say(`The session '${id}' is ending. Its running turns are cancelled and charged.`)
  })
}

function formatSessions(sessions: readonly SeenSession[]): string {
  return formatTable(
    ['id', 'user', 'key', 'operation', 'model', 'upstream', 'gateway', 'opened', 'ending'],
    sessions.map(one => {
      const { id, user, key_id, operation, model, upstream, gateway, opened, ending } = showSession(one)
      return [id, user, key_id, operation, model ?? '', upstream ?? '', gateway, opened, ending ? 'yes' : '']
    }),
  )
}
