import type { Configuration } from '../../api/shapes.ts'

/** Props of each view of the configuration. */
export type ConfigViewProps = {
  readonly of: Configuration
  /** Reads the configuration again, in case it has changed. */
  readonly onChanged: () => void
}
