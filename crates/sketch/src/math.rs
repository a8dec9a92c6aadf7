//! Logarithms and powers with the same result on every machine.
//!
//! The standard library calls the C library, whose last bit depends on its version and the processor. A replica
//! must store the same bytes as its primary, so sketches use these functions instead. Stored bits depend on
//! `ln`, which has glibc's result. The other functions are used only to compute integers and the accuracy of a sketch; the
//! crate `libm` computes them without the C library.

mod tables;

pub use libm::{expm1, log1p as ln_1p, log2, log10, pow};
use tables::{CENTERS, INTERVALS, LN_2_HIGH, LN_2_LOW, NEAR_1, SMALL, START};

/// Bits of a double's fraction.
const FRACTION_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// The natural logarithm. The result is that of glibc (since 2.28) on processors with FMA instructions, as in
/// RedisBloom's stored data.
///
/// The algorithm is that of Arm's Optimized Routines (`log.c`, 2018): x = 2^k z; a table has 1/c and ln c
/// for a number c near z; ln x = k ln 2 + ln c + ln(1 + r) with r = z/c - 1, and a polynomial for ln(1 + r).
/// The error is below 0.52 units in the last place, so for up to one number in a thousand the result is not the nearest
/// double. The last bit depends on which products are fused with a sum; this function fuses the same products as
/// glibc's machine code.
#[must_use]
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    if (1.0 - 1.0 / 16.0..1.0 + 265.0 / 4096.0).contains(&x) {
        return ln_near_1(x);
    }
    // Subnormal numbers are scaled.
    let (bits, scale) = if x < f64::MIN_POSITIVE {
        (
            (x * (1u64 << FRACTION_BITS) as f64).to_bits(),
            FRACTION_BITS,
        )
    } else {
        (x.to_bits(), 0)
    };
    let offset = bits.wrapping_sub(START);
    let exponent = offset.cast_signed() >> FRACTION_BITS;
    let z = f64::from_bits(bits.wrapping_sub(exponent.cast_unsigned() << FRACTION_BITS));
    let exponent = (exponent - i64::from(scale)) as f64;
    let interval = offset >> (FRACTION_BITS - INTERVALS.ilog2());
    let [inverse, ln_c] = CENTERS[interval as usize % INTERVALS].map(f64::from_bits);

    let r = z.mul_add(inverse, -1.0);
    let sum = exponent * LN_2_HIGH + ln_c;
    let high = sum + r;
    let low = exponent.mul_add(LN_2_LOW, sum - high + r);
    let r2 = r * r;
    let [a, b, c, d, e] = SMALL;
    let cubic = r2.mul_add(r.mul_add(e, d), r.mul_add(c, b));
    (r * r2).mul_add(cubic, r2.mul_add(a, low)) + high
}

/// [`ln`] in [0.9375, 1.0647), where ln c and ln(1 + r) would cancel.
fn ln_near_1(x: f64) -> f64 {
    let r = x - 1.0;
    let r2 = r * r;
    let r3 = r * r2;
    let [half, b, c, d, e, f, g, h, i, j, k] = NEAR_1;
    let last = r3.mul_add(k, r2.mul_add(j, r.mul_add(i, h)));
    let middle = r3.mul_add(last, r2.mul_add(g, r.mul_add(f, e)));
    let first = r3.mul_add(middle, r2.mul_add(d, r.mul_add(c, b)));
    // r - r²/2 as a sum of two doubles. The upper half of r has an exact square.
    let shift = r * (1u64 << 27) as f64;
    let upper = r + shift - shift;
    let square = half * upper * upper;
    let high = r + square;
    let low = (half * (r - upper)).mul_add(upper + r, r - high + square);
    r3.mul_add(first, low) + high
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Environment variable with the number of inputs of the checksum; `ROUGHLY_MATH_INPUTS=100000000 cargo test -p roughly-sketch --lib math::` sets it to 100 million.
    const INPUTS: &str = "ROUGHLY_MATH_INPUTS";

    /// Inputs of all kinds: error rates, decimal and tightened error rates, all doubles between 0 and 1, all positive
    /// doubles, bases of a decay, and numbers of samples.
    fn inputs() -> impl Iterator<Item = f64> {
        let mut state = 0u64;
        // SplitMix64.
        let mut next = move || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = state;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            bits ^ (bits >> 31)
        };
        (0..6).cycle().map(move |kind| {
            let bits = next();
            let fraction = (bits >> 11) as f64 / (1u64 << 53) as f64;
            match kind {
                0 => fraction,
                1 => (bits % 1_000_000 + 1) as f64 / 1e6 / (1u64 << (bits >> 61)) as f64,
                2 => f64::from_bits(bits % 1f64.to_bits()),
                3 => f64::from_bits(bits % f64::INFINITY.to_bits()),
                4 => 0.9 + fraction / 5.0,
                _ => (next() >> 1 >> (bits % 63)) as f64,
            }
        })
    }

    /// FNV-1a over the bits of the results.
    fn checksum(inputs: impl Iterator<Item = f64>, function: fn(f64) -> f64) -> u64 {
        inputs.fold(0xcbf2_9ce4_8422_2325, |hash, x| {
            (hash ^ function(x).to_bits()).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// Number of inputs and checksum of glibc's results on a processor with FMA: 2.36, 2.41 and 2.43.
    fn recorded() -> (usize, u64) {
        match std::env::var(INPUTS).as_deref() {
            Err(_) => (1_000_000, 8_106_470_455_059_989_133),
            Ok("100000000") => (100_000_000, 17_548_507_210_259_509_410),
            Ok(count) => panic!("{INPUTS} is {count}: only 100000000 has a recorded checksum"),
        }
    }

    #[test]
    fn ln_has_the_recorded_results() {
        let (count, wanted) = recorded();
        assert_eq!(checksum(inputs().take(count), ln), wanted);
    }

    /// On other machines the results of the C library differ.
    #[test]
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
    fn the_recorded_results_are_those_of_glibc_with_fma() {
        if std::is_x86_feature_detected!("fma") && std::env::var("GLIBC_TUNABLES").is_err() {
            let (count, wanted) = recorded();
            assert_eq!(checksum(inputs().take(count), f64::ln), wanted);
        }
    }

    #[test]
    fn ln_of_chosen_numbers_is_that_of_glibc_with_fma() {
        // Without FMA, the last bit differs for 0.008194, 0.09792 and 0.113854.
        let recorded: &[(f64, u64)] = &[
            (0.5, 0xbfe6_2e42_fefa_39ef),
            (0.25, 0xbff6_2e42_fefa_39ef),
            (0.1, 0xc002_6bb1_bbb5_5515),
            (0.05, 0xc007_f742_7b73_e391),
            (0.01, 0xc012_6bb1_bbb5_5515),
            (0.005, 0xc015_317a_1b94_9c53),
            (0.0025, 0xc017_f742_7b73_e391),
            (0.001, 0xc01b_a18a_998f_ffa0),
            (0.0005, 0xc01e_6752_f96f_46de),
            (0.0001, 0xc022_6bb1_bbb5_5515),
            (1e-05, 0xc027_069e_2aa2_aa5b),
            (1e-06, 0xc02b_a18a_998f_ffa0),
            (0.3, 0xbff3_4378_fcbd_a721),
            (0.75, 0xbfd2_6962_1134_db92),
            (0.9, 0xbfba_f8e8_210a_415c),
            (0.99, 0xbf84_9545_3e6f_d4bc),
            (0.999999, 0xbeb0_c6f8_2d74_d230),
            (1e-09, 0xc034_b927_f32b_ffb8),
            (1e-15, 0xc041_44f6_9ff9_ffc4),
            (1e-100, 0xc06c_c845_b54b_54f2),
            (1e-300, 0xc085_9634_47f8_7fb5),
            (5e-324, 0xc087_4385_446d_71c3),
            (2.2250738585072014e-308, 0xc086_232b_dd7a_bcd2),
            (2.225073858507201e-308, 0xc086_232b_dd7a_bcd2),
            (0.008194, 0xc013_37a8_56c9_4bc7),
            (0.016388, 0xc010_71df_f6ea_048a),
            (0.1623255, 0xbffd_1726_3cc2_dcf0),
            (0.09792, 0xc002_96bd_ef6b_d000),
            (0.113854, 0xc001_61f9_1311_e4f0),
            (0.92, 0xbfb5_587f_437b_2869),
            (0.9375, 0xbfb0_8598_b59e_3a07),
            (0.9374999999999999, 0xbfb0_8598_b59e_3a0f),
            (1.0, 0x0000_0000_0000_0000),
            (1.064697265625, 0x3fb0_0c7c_1418_4ec5),
            (1.0646972656249998, 0x3fb0_0c7c_1418_4eb6),
            (2.0, 0x3fe6_2e42_fefa_39ef),
            (3.0, 0x3ff1_93ea_7aad_030b),
            (7.0, 0x3fff_2272_ae32_5a57),
            (10.0, 0x4002_6bb1_bbb5_5516),
            (610.0, 0x4019_a761_c8ed_1698),
            (1000.0, 0x401b_a18a_998f_ffa0),
            (123456789.0, 0x4032_a1a3_8bd0_540a),
            (9007199254740992.0, 0x4042_5e4f_7b27_37fa),
            (9.223372036854776e+18, 0x4045_d589_f2fe_5107),
            (1.7976931348623157e+308, 0x4086_2e42_fefa_39ef),
        ];
        for &(x, wanted) in recorded {
            assert_eq!(ln(x).to_bits(), wanted, "{x:e}");
        }
    }

    #[test]
    fn ln_of_other_numbers_is_that_of_the_standard() {
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert_eq!(ln(-0.0), f64::NEG_INFINITY);
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
        for x in [f64::NAN, -f64::MIN_POSITIVE, -1.0, f64::NEG_INFINITY] {
            assert!(ln(x).is_nan(), "{x}");
        }
    }
}
