import type { Ask } from '../api.ts'

/** Counts a sign-in that was refused, for whoever reads the audit log. A storage that does not answer refuses nobody else. */
export async function noteRefused({ parts, remote, id }: Ask, name: string, way: string): Promise<void> {
  try {
    await parts.storage.watch.refused({ name, remote: parts.networkOf(remote), way })
  } catch (error) {
    parts.log.warn({ request: id, err: error }, 'a refused sign-in could not be counted')
  }
}
