/** Who a simulated node is, as its portal knows it. */
export interface NodeName {
  readonly clusterId: string;
  readonly nodeName: string;
  /** Decimal. */
  readonly serverId: string;
  /** The enrollment token. */
  readonly token: string;
}
