const fewest = 8
const most = 512
const chargesMax = 4_096

/**
 * The number of charge batches that one statement reads. It adapts so that a page has a few thousand charges, whether
 * batches have one charge each or hundreds.
 */
export class ChargeBatchPage {
  size = fewest

  /** Records the number of charges in the last page. */
  had(charges: number): void {
    if (charges < chargesMax / 4) this.size = Math.min(this.size * 2, most)
    else if (charges > chargesMax) this.size = Math.max(this.size >> 1, fewest)
  }
}
