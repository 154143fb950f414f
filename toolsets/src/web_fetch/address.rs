//! Which addresses belong to the public internet. All others may be machines that trust whoever reaches them: this one,
//! a printer, a cloud's service that hands out keys.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is one of the public internet, by the registries of special addresses (RFC 6890 and its updates).
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match a {
        // This network, this machine, multicast and what is reserved; the metadata services of clouds are link-local.
        0 | 10 | 127 | 224..=255 => true,
        100 => (64..128).contains(&b),
        169 => b == 254,
        172 => (16..32).contains(&b),
        192 => b == 168 || (b, c) == (0, 0) || (b, c) == (0, 2) || (b, c) == (88, 99),
        198 => matches!(b, 18 | 19) || (b, c) == (51, 100),
        203 => (b, c) == (0, 113),
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(address) = inner_v4(address) {
        return is_public_v4(address);
    }
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given out; in it are documentation, benchmarks and identifiers that are no addresses.
    let is_special = match (first, second) {
        (0x2001, 0..=0x01ff | 0x0db8) => true,
        (0x3fff, second) => second < 0x1000,
        _ => false,
    };
    first & 0xe000 == 0x2000 && !is_special
}

/// The IPv4 address that an IPv6 address stands for: mapped, translated (NAT64) or 6to4.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let bytes = address.octets();
    let v4 = |from: usize| Ipv4Addr::new(bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]);
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => Some(v4(12)),
        [0x2002, ..] => Some(v4(2)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn only_what_is_given_out_to_the_public_is_public() {
        let check = |address: &str, expect: bool| {
            assert_eq!(is_public(address.parse().unwrap()), expect, "{address}");
        };
        for public in [
            "1.1.1.1",
            "8.8.8.8",
            "100.63.0.1",
            "100.128.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.20.0.1",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:4860:4860::8888",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:0808:0808::1",
        ] {
            check(public, true);
        }
        for special in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.100.100.200",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "2002:7f00:0001::1",
            "2001::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "ff02::1",
            "100::1",
        ] {
            check(special, false);
        }
    }
}
