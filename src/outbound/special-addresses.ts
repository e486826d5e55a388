/**
 * Special-purpose addresses, with a reason that completes "the address is …". Source: IANA IPv4 and IPv6
 * Special-Purpose Address Registries (RFC 6890), multicast and reserved blocks, and the metadata services of clouds
 * outside of them. Narrower ranges come before the wider ones that contain them.
 */
export const SPECIAL_IPV4: ReadonlyArray<readonly [range: string, reason: string]> = [
  ['169.254.169.254/32', 'a cloud metadata address'],
  ['100.100.100.200/32', 'a cloud metadata address'],
  ['192.0.0.192/32', 'a cloud metadata address'],
  ['168.63.129.16/32', 'a cloud metadata address'],
  ['0.0.0.0/8', 'an address of this host or network'],
  ['10.0.0.0/8', 'a private address'],
  ['100.64.0.0/10', 'a shared address behind carrier-grade NAT'],
  ['127.0.0.0/8', 'a loopback address'],
  ['169.254.0.0/16', 'a link-local address'],
  ['172.16.0.0/12', 'a private address'],
  ['192.0.0.0/24', 'an address reserved for protocols'],
  ['192.0.2.0/24', 'a documentation address'],
  ['192.31.196.0/24', 'an address of the AS112 service'],
  ['192.52.193.0/24', 'an address of automatic multicast tunnelling'],
  ['192.88.99.0/24', 'a 6to4 relay address'],
  ['192.168.0.0/16', 'a private address'],
  ['192.175.48.0/24', 'an address of the AS112 service'],
  ['198.18.0.0/15', 'a benchmarking address'],
  ['198.51.100.0/24', 'a documentation address'],
  ['203.0.113.0/24', 'a documentation address'],
  ['224.0.0.0/4', 'a multicast address'],
  ['255.255.255.255/32', 'the broadcast address'],
  ['240.0.0.0/4', 'a reserved address'],
];

export const SPECIAL_IPV6: ReadonlyArray<readonly [range: string, reason: string]> = [
  ['fd00:ec2::254/128', 'a cloud metadata address'],
  ['fd20:ce::254/128', 'a cloud metadata address'],
  ['::1/128', 'a loopback address'],
  ['::/128', 'the unspecified address'],
  ['64:ff9b:1::/48', 'an address of a local NAT64'],
  ['100::/64', 'a discard-only address'],
  ['100:0:0:1::/64', 'a dummy address'],
  ['2001:db8::/32', 'a documentation address'],
  ['2001::/32', 'a Teredo address'],
  ['2001:2::/48', 'a benchmarking address'],
  ['2001::/23', 'an address reserved for protocols'],
  ['2620:4f:8000::/48', 'an address of the AS112 service'],
  ['3fff::/20', 'a documentation address'],
  ['5f00::/16', 'a segment routing identifier'],
  ['fc00::/7', 'a private address'],
  ['fe80::/10', 'a link-local address'],
  ['fec0::/10', 'a site-local address'],
  ['ff00::/8', 'a multicast address'],
  // Only 2000::/3 is allocated as global unicast.
  ['::/3', 'a reserved address'],
  ['4000::/2', 'a reserved address'],
  ['8000::/1', 'a reserved address'],
];
