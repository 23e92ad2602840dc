import type { Configuration } from '../../api/shapes.ts'

/** Props of each view of the configuration. */
export type ConfigViewProps = {
  readonly of: Configuration
  /** Reads the configuration again, because it may have changed. */
  readonly onChanged: () => void
}
