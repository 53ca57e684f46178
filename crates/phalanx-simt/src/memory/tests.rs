//! Bounds, states of bytes and layouts of values in memory.

use super::*;

#[test]
fn accesses_stay_inside_allocations() {
    let mut memory = Segment::new(Region::Shared, 1);
    let (a, b) = (memory.allocate(8, 4).unwrap(), memory.allocate(4, 4).unwrap());
    assert!(b >= a + 9 && memory.write(a + 4, &[1; 4]).is_ok());
    let fault = memory.write(a + 6, &[0; 4]).unwrap_err().to_string();
    assert_eq!(fault, format!("store of 4 bytes at shared address {:#x}: out of bounds", a + 6));
    assert!(memory.read("load", 0, 1).unwrap_err().to_string().ends_with("is null"));
    memory.make_constant(b);
    assert!(memory.write(b, &[0]).unwrap_err().to_string().ends_with("is constant"));
    assert!(memory.read("load", b, 4).is_ok());
    let mark = memory.mark();
    let c = memory.allocate(4, 64).unwrap();
    assert_eq!(c % 64, 0);
    memory.release(mark);
    assert!(memory.read("load", c, 1).is_err());
}

#[test]
fn null_of_a_region() {
    let amd = Apertures::new(64, Architecture::Amdgcn);
    let nvidia = Apertures::new(64, Architecture::Nvptx);
    for region in [Region::Shared, Region::Private] {
        assert_eq!((amd.null(region), amd.generic(region, 0xffff_ffff)), (0xffff_ffff, 0));
        // Address 0 is an ordinary address.
        for apertures in [amd, nvidia] {
            assert_eq!(apertures.resolve(apertures.generic(region, 0)), (region, 0));
        }
    }
    assert_eq!((amd.null(Region::Global), amd.generic(Region::Global, 0)), (0, 0));
}

#[test]
fn apertures_alias() {
    for bits in [32, 64] {
        let apertures = Apertures::new(bits, Architecture::Nvptx);
        for region in [Region::Global, Region::Shared, Region::Private] {
            let generic = apertures.generic(region, 0x1234);
            assert_eq!(apertures.resolve(generic), (region, 0x1234));
        }
    }
}
