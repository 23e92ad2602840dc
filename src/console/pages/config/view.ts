import type { Configuration } from '../../api/shapes.ts'

/** What each view of the configuration is given. */
export type ConfigViewProps = {
  readonly of: Configuration
  /** Reads the configuration again: it may be another. */
  readonly onChanged: () => void
}
