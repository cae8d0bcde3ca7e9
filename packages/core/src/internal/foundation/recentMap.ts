/** Recent: the last keys that were set, up to a limit. */

/** A map that forgets the key that was set longest ago. */
export class Recent<K, V> extends Map<K, V> {
  private readonly most: number

  constructor(most: number) {
    super()
    this.most = most
  }

  override set(key: K, value: V): this {
    this.delete(key)
    super.set(key, value)
    if (this.size > this.most) this.delete(this.keys().next().value!)
    return this
  }
}
