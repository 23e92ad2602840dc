import type { Gateway } from '../../../src/index.ts'

/**
 * Lets requests finish, as SIGTERM does. A gateway whose storage cannot be written until its end has logged the charges
 * that it could not write.
 */
export async function endGateway(gateway: Gateway): Promise<void> {
  try {
    await gateway.close()
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== 'charges_unwritten') throw error
  }
}
